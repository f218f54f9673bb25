<%@ page contentType="text/html;charset=UTF-8" import="stock.Shelf" %>
<!DOCTYPE html>
<html>
<body>
<h1>Stock of ${pageContext.request.serverName}</h1>
<ul>
<% for (String line : ((Shelf) application.getAttribute("shelf")).kinds()) { %>
<li><%= line %></li>
<% } %>
</ul>
</body>
</html>
